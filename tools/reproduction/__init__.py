"""Published numbers of CPR, ECRM and others, compared with those of the pictures."""
