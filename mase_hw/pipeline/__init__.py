"""The steps from a model to hardware, each a function with a typed result: graphs.py, hardware.py.

    model -> traced -> quantized_graph -> layers_of -> plan_of -> design_of

`flow.py` puts loading before them and writing after them; explore, search and training use the same steps.
"""
