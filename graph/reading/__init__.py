"""The read loop: plan, load, link, reduce and compile over providers of knowledge, with an insight left behind.

A goal and a budget go in. Each provider whose matter the goal is gives pieces, best first and within a deadline; pieces
of several providers are linked, folded where they say the same and written as one block that keeps to the budget
(``runtime.Runtime``). Providers are found by entry points (``providers``).
"""
