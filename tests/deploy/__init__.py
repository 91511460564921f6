"""What lies in deploy/, compared with the code it deploys."""
