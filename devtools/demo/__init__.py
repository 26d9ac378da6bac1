"""`./dev demo`: a small warehouse whose writers would abort one another, run by Sluice before your eyes."""
