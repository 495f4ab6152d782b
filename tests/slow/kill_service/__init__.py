"""`make campaign`: kill -9 of the service and its nodes while people work; nothing is stranded, nothing runs twice."""
