" Made by python -m tests.editor.grammars from the tables of the lexer.
if exists("b:current_syntax") | finish | endif
syn keyword stapDeclares function global private probe
syn keyword stapType long string
syn keyword stapFlow break catch continue delete else for foreach if in limit next return try while
syn keyword stapPrinter print print_char printd printdln printf println sprint sprintd sprintdln sprintf sprintln
syn keyword stapAsked arch guru_mode kernel_v kernel_vr runtime systemtap_privilege systemtap_v
syn match stapMember /\(\.\|->\)\@<=\h\w*/
syn match stapMacro /@\h\w*/
syn match stapArgument /[$@]\(\d\+\|[#*]\)/
syn match stapTarget /\$\h[A-Za-z0-9_$]*/
syn match stapOperator /@avg\>/
syn match stapOperator /@cast\>/
syn match stapOperator /@const\>/
syn match stapOperator /@count\>/
syn match stapOperator /@define\>/
syn match stapOperator /@defined\>/
syn match stapOperator /@entry\>/
syn match stapOperator /@enum\>/
syn match stapOperator /@enumname\>/
syn match stapOperator /@hist_linear\>/
syn match stapOperator /@hist_log\>/
syn match stapOperator /@kderef\>/
syn match stapOperator /@kregister\>/
syn match stapOperator /@max\>/
syn match stapOperator /@min\>/
syn match stapOperator /@perf\>/
syn match stapOperator /@probewrite\>/
syn match stapOperator /@sum\>/
syn match stapOperator /@uderef\>/
syn match stapOperator /@uregister\>/
syn match stapOperator /@var\>/
syn match stapOperator /@variance\>/
syn match stapNumber /\<\(0x\x\+\|\d\+\)\>/
syn match stapMark /%[(?:)]/
syn match stapEscape /\\\(\o\{1,3}\|x\x\+\|.\)/ contained
syn region stapString start=/"/ skip=/\\./ end=/"/ contains=stapEscape oneline
syn match stapComment /\(#\|\/\/\).*$/
syn region stapComment start=/\/\*/ end=/\*\//
syn include @stapC syntax/c.vim
syn region stapCode matchgroup=stapMark start=/%{/ end=/%}/ contains=@stapC
hi def link stapDeclares Structure
hi def link stapType Type
hi def link stapFlow Statement
hi def link stapPrinter Function
hi def link stapAsked Constant
hi def link stapMacro Macro
hi def link stapOperator Operator
hi def link stapArgument PreProc
hi def link stapTarget Identifier
hi def link stapNumber Number
hi def link stapMark PreProc
hi def link stapEscape Special
hi def link stapString String
hi def link stapComment Comment
let b:current_syntax = "systemtap"
