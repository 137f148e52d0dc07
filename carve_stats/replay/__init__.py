"""What produces replay records: trajectories, agents, operators, the loop and the run store."""
