"""What every routing rule must do, and the smallest questions on which one does not."""
