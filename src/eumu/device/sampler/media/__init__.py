"""sample_8x8: video analytics and the adaptive video scaler."""
