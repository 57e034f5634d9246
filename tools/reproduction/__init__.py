"""What CPR and ECRM publish of each picture, beside what the picture draws."""
