"""The paper reproduced by one command: ``python -m reproduction all``, from the root."""
