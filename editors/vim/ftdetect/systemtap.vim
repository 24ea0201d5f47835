au BufRead,BufNewFile *.stp,*.stpm setfiletype systemtap
