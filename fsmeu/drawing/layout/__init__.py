"""Where the states and arcs of a picture lie."""
