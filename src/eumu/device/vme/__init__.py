"""Video motion estimation: the check and refinement engine and the search of whole pixels."""
