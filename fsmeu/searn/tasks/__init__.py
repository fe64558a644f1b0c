"""Ready experiments: data, features, settings, and the methods that are compared."""
