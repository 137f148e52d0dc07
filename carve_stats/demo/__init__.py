"""The built-in clips and questions, and the run that shows the whole job."""
