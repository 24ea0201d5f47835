"""elaborate"""
