"""Operations to LLVM text."""
