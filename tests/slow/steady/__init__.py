"""`make steady`: whether the memory of the service stays what it is under an hour of everyday work."""
