"""What every estimator of the score must do, one idea a file.

A file ``checks/<name>.py`` with a tuple ``PROPERTIES`` is all that a new one takes.
"""
