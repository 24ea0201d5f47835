"""What -l prints of functions: a catalogue of a kernel, where it is kept, who asks it."""
