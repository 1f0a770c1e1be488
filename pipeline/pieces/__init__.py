"""Long takes, solved in pieces that go from the capture's file to the result's."""
