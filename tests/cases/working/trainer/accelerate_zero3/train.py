"""Fine-tunes a causal model on packed tokens with Hugging Face's Trainer."""

from dataclasses import dataclass, field

import numpy
import torch
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="meta-llama/Llama-3.1-8B")


@dataclass
class DataArguments:
    data_path: str = field(default="tokens.bin")
    max_length: int = field(default=2048)


class Packed(torch.utils.data.Dataset):
    def __init__(self, path: str, length: int):
        self.path, self.length = path, length

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        tokens = numpy.memmap(self.path, dtype="uint16")[index * self.length :][: self.length]
        ids = torch.from_numpy(tokens.astype("int64"))
        return {"input_ids": ids, "labels": ids}


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
    dataset = Packed(data_args.data_path, data_args.max_length)
    trainer = Trainer(model=model, args=training_args, train_dataset=dataset)
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
