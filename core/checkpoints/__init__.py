"""Real weights: formats, and one file a family that maps its names and facts to ours.

A family gives facts (`core.transformer_types.Facts`) and a *plan*: the weights as a tree with a
`plan.Source` where an array will be. Plans are checked against the file's headers when a model is
opened, so that a missing, misshapen or unexplained tensor is found before anything is computed.
"""
