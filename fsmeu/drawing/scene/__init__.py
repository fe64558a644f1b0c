"""What a picture shows, before it is known where."""
