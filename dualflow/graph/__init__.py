"""Graph mode: the IR, tracing, passes, memory plan, lowering and inspection."""
