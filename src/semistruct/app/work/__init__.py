"""The workbench: label, write rules, train and look, in the browser.

A folder of plain files (`folder`, `pool`, `labels`, `rules_text`) is the whole state; `state` has it in memory, and
`bench` is what one can do with it.  Models are learned and asked in processes of their own (`worker`: what they do is
in `tasks`; when, in `training` and `background`), so that the page never waits.  `views`, `rule_views` and `accuracy`
make what the page shows, `app` and `predicting` are the HTTP interface, `server` says who may use it.  `limits` has all
numbers, `page/` what the browser gets.
"""
