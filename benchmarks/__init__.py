"""What measures: Headrace and its peers on the same work, in the same run, in turn."""
