"""Lowering the typed program to C, one module for each subject; `dispatch` finds the rule."""
