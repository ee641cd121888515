"""`python -m eumu.verify`: the documentation of the rules."""

from eumu.verify.manual import rules_page

print(rules_page(), end="")
