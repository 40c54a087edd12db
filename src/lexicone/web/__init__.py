"""The page of ``lexicone explore``: a local web application to choose, order, move thresholds, and see the optimum.

Needs the extra ``web``. The server (`_app`, `_guard`) hands out a few files and passes questions on; worker processes
(`_worker`, `_pool`) answer them with `_jobs`; the page itself is ``static/``: HTML, CSS and plain JavaScript. It is not
public: use the command.
"""
