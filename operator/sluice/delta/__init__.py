"""What open-source Delta Lake takes: closed lists that the API's schema and whatever compares a table with them share."""
