"""Images: resizing, cropping, flips, patches, colours."""
