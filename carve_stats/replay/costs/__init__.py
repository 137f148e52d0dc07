"""What a run costs: prices, what its records say was spent, limits, and the price before it."""
