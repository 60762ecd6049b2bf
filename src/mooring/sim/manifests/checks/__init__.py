"""What the API server would refuse in a manifest, found in plain data with the place of each mistake.

Checks read plain data and pass over values of the wrong type: those are reported by the conversion to
types, and one slip should not hide the next.
"""
