"""The most used TensorFlow names by namespace, outside of keras, data, io and summary, by falling
frequency. Counted over eight public repositories: documentation, courses, libraries."""

NAMES = {
    "": """
        float32 constant cast Tensor Variable int32 function reshape shape ones reduce_sum zeros
        GradientTape concat expand_dims convert_to_tensor range reduce_mean int64 TensorSpec stack
        transpose Module zeros_like squeeze matmul name_scope string executing_eagerly argmax
        TensorShape ones_like where square tile gather equal float64 device sqrt identity exp
        clip_by_value fill constant_initializer maximum add_n reduce_max uint8 bool Graph cond add
        minimum eye while_loop control_dependencies newaxis abs print reduce_prod DType
        stop_gradient one_hot SparseTensor size split float16 group IndexedSlices sigmoid unstack
        multiply broadcast_to rank pow linspace map_fn TensorArray reduce_min is_tensor greater
        TypeSpec not_equal slice less RaggedTensor cos reduce_all gather_nd pad einsum Operation
        custom_gradient bfloat16 sin floor py_function numpy_function init_scope as_dtype int8
        int16 get_static_value clip_by_norm norm tanh Assert zeros_initializer logical_and cumsum
        sequence_mask dynamic_partition no_op case scatter_nd VariableAggregation unique sign
        random_uniform_initializer boolean_mask greater_equal timestamp argmin ensure_shape
        vectorized_map reduce_logsumexp logical_not tensor_scatter_nd_add get_logger
        tensor_scatter_nd_update tensordot broadcast_dynamic_shape import_graph_def gradients
        random_normal_initializer repeat VariableSynchronization clip_by_global_norm assert_equal
        meshgrid subtract ones_initializer""",
    "nest": """
        map_structure flatten pack_sequence_as assert_same_structure""",
    "random": """
        uniform normal set_seed categorical shuffle truncated_normal stateless_uniform
        stateless_normal""",
    "nn": """
        relu softmax sparse_softmax_cross_entropy_with_logits tanh moments sigmoid swish
        leaky_relu scale_regularization_loss embedding_lookup batch_normalization
        compute_average_loss elu dropout bias_add sigmoid_cross_entropy_with_logits relu6 l2_loss
        selu depthwise_conv2d avg_pool""",
    "math": """
        log reduce_mean argmax equal squared_difference top_k mod reduce_sum reduce_max softplus
        count_nonzero divide_no_nan not_equal reduce_std square add maximum sqrt exp reduce_prod
        sin reduce_min erf tanh lgamma""",
    "saved_model": """
        load save SaveOptions""",
    "train": """
        Checkpoint latest_checkpoint Example CheckpointManager Features BytesList Feature
        Int64List FloatList load_checkpoint ExponentialMovingAverage checkpoints_iterator""",
    "config": """
        list_physical_devices list_logical_devices experimental_connect_to_cluster
        LogicalDeviceConfiguration set_logical_device_configuration run_functions_eagerly
        set_soft_device_placement""",
    "errors": """
        InvalidArgumentError OutOfRangeError NotFoundError""",
    "image": """
        resize convert_image_dtype decode_jpeg decode_image resize_with_pad ResizeMethod
        flip_left_right crop_to_bounding_box random_flip_left_right rgb_to_grayscale""",
    "linalg": """
        diag matmul diag_part cholesky matrix_transpose triangular_solve band_part adjoint matvec
        trace global_norm eigh solve tensor_diag_part inv""",
    "strings": """
        length join split regex_replace to_number lower format""",
    "sparse": """
        to_dense SparseTensor reorder""",
    "debugging": """
        check_numerics set_log_device_placement assert_equal""",
    "ragged": """
        constant""",
    "GradientTape": """
        gradient""",
    "autograph": """
        to_code to_graph""",
    "version": """
        VERSION""",
}

# Names that dualflow does not have.
MISSING = """
    TypeSpec import_graph_def
    config.experimental_connect_to_cluster"""
