"""What makes the site: public names and their pages, commands, links, pictures, formulas."""
