"""The paper's experiments, and a user's own: what `ocpfast reproduce` and `ocpfast run` do."""
