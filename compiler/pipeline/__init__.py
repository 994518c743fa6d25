"""The placement of layers on pipeline ranks, and the load of each rank."""
