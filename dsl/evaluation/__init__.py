"""Syntax tree -> `Job`: names, constants, blocks and conditions evaluated and checked."""
