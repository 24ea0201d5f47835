;;; systemtap-mode.el --- colours for SystemTap's language  -*- lexical-binding: t -*-
;; Made by python -m tests.editor.grammars from the tables of the lexer.
(defvar systemtap-font-lock
  (list (cons (regexp-opt '("break" "catch" "continue" "delete" "else" "for" "foreach" "function" "global" "if" "in" "limit" "next" "private" "probe" "return" "try" "while") 'symbols)
              'font-lock-keyword-face)
        (cons (regexp-opt '("long" "string") 'symbols) 'font-lock-type-face)
        (cons (regexp-opt '("print" "print_char" "printd" "printdln" "printf" "println" "sprint" "sprintd" "sprintdln" "sprintf" "sprintln") 'symbols)
              'font-lock-builtin-face)
        (cons (regexp-opt '("arch" "guru_mode" "kernel_v" "kernel_vr" "runtime" "systemtap_privilege" "systemtap_v") 'symbols)
              'font-lock-constant-face)
        (cons (concat (regexp-opt '("@avg" "@cast" "@const" "@count" "@define" "@defined" "@entry" "@enum" "@enumname" "@hist_linear" "@hist_log" "@kderef" "@kregister" "@max" "@min" "@perf" "@probewrite" "@sum" "@uderef" "@uregister" "@var" "@variance")) "\\_>")
              'font-lock-builtin-face)
        '("@[A-Za-z_][A-Za-z0-9_]*" . font-lock-preprocessor-face)
        '("[$][A-Za-z0-9_$#*]*" . font-lock-variable-name-face)))
(defvar systemtap-syntax
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?# "< b" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?_ "_" table)
    table))
(define-derived-mode systemtap-mode prog-mode "SystemTap"
  :syntax-table systemtap-syntax
  (setq-local comment-start "# ")
  (setq-local font-lock-defaults '(systemtap-font-lock)))
(add-to-list 'auto-mode-alist '("\\.stpm?\\'" . systemtap-mode))
(provide 'systemtap-mode)
