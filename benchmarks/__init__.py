"""What training costs in time and calls, measured against a scripted model on loopback."""
