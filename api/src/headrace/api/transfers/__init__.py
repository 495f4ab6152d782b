"""From a sealed plan to a receipt: submitting, steering, attempts, history."""
