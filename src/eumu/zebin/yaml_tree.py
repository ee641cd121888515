"""`.ze_info` text as a tree of mappings, lists and words, each with its line.

Words stay text: the reader knows the type of every key, while YAML 1.1 would make a number of
`1e3` and False of an argument called `no`.  The parser's events are read, not its loader, because
deep nesting overflows the host's stack there and aliases multiply.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from eumu.errors import FormatError
from eumu.records import dataclass

# `kernels` > kernel > `payload_arguments` > argument > a list of three numbers
_DEEPEST: Final = 16


@dataclass(frozen=True, slots=True)
class Node:
    """A value and the line, counted from 1, that it begins on."""

    value: str | list[Node] | dict[str, Node]
    line: int

    @property
    def what(self) -> str:
        """For messages: what kind of value this is."""
        if isinstance(self.value, str):
            return repr(self.value)
        return "a list" if isinstance(self.value, list) else "a mapping"


_Open: TypeAlias = tuple[Node, list[Node]]


def parse(text: str, name: str) -> Node:
    """The first document; FormatError names the line of what is not YAML."""
    import yaml  # 40 ms, and not needed where no program is read

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _tree(yaml.parse(text, Loader=loader), yaml, name)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FormatError(f"{name}, line {line}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise FormatError(f"{name}: {' '.join(str(error).split())}") from None


def _tree(events: Any, yaml: Any, name: str) -> Node:
    # The children of a mapping are its keys and values in turn, until it closes.
    root: list[Node] = []
    stack: list[_Open] = [(Node([], 1), root)]
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            stack[-1][1].append(Node(event.value, line))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) > _DEEPEST:
                raise FormatError(f"{name}, line {line}: nested more than {_DEEPEST} deep")
            empty: list[Node] | dict[str, Node]
            empty = {} if isinstance(event, yaml.MappingStartEvent) else []
            stack.append((Node(empty, line), []))
        elif isinstance(event, yaml.CollectionEndEvent):
            node, children = stack.pop()
            _close(node, children, name)
            stack[-1][1].append(node)
        elif isinstance(event, yaml.AliasEvent):
            raise FormatError(f"{name}, line {line}: an alias; the compiler writes none")
        elif isinstance(event, yaml.DocumentEndEvent):
            break
    return root[0] if root else Node("", 1)


def _close(node: Node, children: list[Node], name: str) -> None:
    if isinstance(node.value, list):
        node.value.extend(children)
    elif isinstance(node.value, dict):
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key.value, str):
                raise FormatError(f"{name}, line {key.line}: {key.what} as a key")
            if key.value in node.value:
                raise FormatError(f"{name}, line {key.line}: the key {key.value!r} is there twice")
            node.value[key.value] = value


def plain(node: Node) -> object:
    """The value without its lines: str, tuple and dict."""
    if isinstance(node.value, str):
        return node.value
    if isinstance(node.value, list):
        return tuple(plain(child) for child in node.value)
    return {key: plain(child) for key, child in node.value.items()}
