"""The typed program's locks, handlers and conditions, and what a module takes along."""
