"""debuginfo"""
