" Colours of job files of parc, written from the words of the language.
if exists("b:current_syntax") | finish | endif

syntax keyword parcBlocks model gpu cluster train stage goal target launch
syntax keyword parcStatements import let from
syntax keyword parcClauses maximize minimize require forbid prefer
syntax keyword parcOperators and or not in
syntax keyword parcConstants true false none
syntax keyword parcFunctions min max ceil floor log2
syntax keyword parcQuantities memory mfu hfu step_time tokens_per_second days cost energy bubble risk
syntax keyword parcDecisions tp pp vpp cp ep etp dp dp_replicate dp_shard zero micro_batch microbatches recompute recompute_layers offload hpz order schedule nodes gpus
syntax match parcKey /\<[A-Za-z_][A-Za-z0-9_-]*\ze\s*==\@!/
syntax match parcLibrary /\<std\.\w\+/
syntax match parcNumber /\<\d[0-9_]*\(\.\d[0-9_]*\)\?\([eE][+-]\?\d\+\)\?\(\s*%\|\(\s*\(sequences\|sequence\|tokens\|EFLOP\|GFLOP\|KFLOP\|MFLOP\|PFLOP\|TFLOP\|kFLOP\|token\|FLOP\|EWh\|EiB\|Eib\|GWh\|GiB\|Gib\|KWh\|KiB\|Kib\|MWh\|MiB\|Mib\|PWh\|PiB\|Pib\|TWh\|TiB\|Tib\|kWh\|min\|E\$\|EB\|EJ\|EW\|Eb\|Ei\|G\$\|GB\|GJ\|GW\|Gb\|Gi\|K\$\|KB\|KJ\|KW\|Kb\|Ki\|M\$\|MB\|MJ\|MW\|Mb\|Mi\|P\$\|PB\|PJ\|PW\|Pb\|Pi\|T\$\|TB\|TJ\|TW\|Tb\|Ti\|Wh\|k\$\|kB\|kJ\|kW\|kb\|ms\|ns\|us\|µs\|\$\|B\|E\|G\|J\|K\|M\|P\|T\|W\|b\|d\|h\|k\|s\)\(\/\(sequences\|sequence\|tokens\|EFLOP\|GFLOP\|KFLOP\|MFLOP\|PFLOP\|TFLOP\|kFLOP\|token\|FLOP\|EWh\|EiB\|Eib\|GWh\|GiB\|Gib\|KWh\|KiB\|Kib\|MWh\|MiB\|Mib\|PWh\|PiB\|Pib\|TWh\|TiB\|Tib\|kWh\|min\|E\$\|EB\|EJ\|EW\|Eb\|Ei\|G\$\|GB\|GJ\|GW\|Gb\|Gi\|K\$\|KB\|KJ\|KW\|Kb\|Ki\|M\$\|MB\|MJ\|MW\|Mb\|Mi\|P\$\|PB\|PJ\|PW\|Pb\|Pi\|T\$\|TB\|TJ\|TW\|Tb\|Ti\|Wh\|k\$\|kB\|kJ\|kW\|kb\|ms\|ns\|us\|µs\|\$\|B\|E\|G\|J\|K\|M\|P\|T\|W\|b\|d\|h\|k\|s\)\)\?\([A-Za-z0-9_$]\)\@!\)\+\)\?/
syntax region parcText start=/"/ skip=/\\./ end=/"/ oneline
syntax match parcComment /#.*$/

highlight default link parcBlocks Structure
highlight default link parcStatements Keyword
highlight default link parcClauses Statement
highlight default link parcOperators Operator
highlight default link parcConstants Boolean
highlight default link parcFunctions Function
highlight default link parcQuantities Identifier
highlight default link parcDecisions Identifier
highlight default link parcKey Type
highlight default link parcLibrary Constant
highlight default link parcNumber Number
highlight default link parcText String
highlight default link parcComment Comment

let b:current_syntax = "parc"
