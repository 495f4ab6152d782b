"""The port `Headrace`, bound to a principal: one table of who may call what, checked before a use case begins."""
