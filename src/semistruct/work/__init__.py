"""The workbench: label, write rules, train and look, in the browser.

A folder of plain files is the whole state (`folder`, `decisions`, `history`, `pool`); `bench` is what one can do with
it.  Models are learned and asked in processes of their own (`crew` here, `worker` and `tasks` there), so that the page
never waits.  `app` and `routes_...` are the HTTP interface, `guard` who may use it, `page/` what the browser gets.
"""
