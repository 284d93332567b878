"""The web page of a folder with runs. Flask is imported here and nowhere else."""
