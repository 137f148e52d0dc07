"""What the built-in agent is made of: a picture classifier, a text reader, a text encoder."""
