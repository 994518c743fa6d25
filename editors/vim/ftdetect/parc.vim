autocmd BufNewFile,BufRead *.par setfiletype parc
